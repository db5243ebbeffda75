/** One client process under a stand-in hub, in a workspace of its own. */

import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { Hub } from './hub.js'
import { Workspace, type Mock } from './mock.js'

const PROGRAM = [process.execPath, fileURLToPath(new URL('../src/main.js', import.meta.url))]

/** A workspace with `echo_tool`, and a run that calls it with `hello`. */
export const ECHO = {
  workspace: {
    tools: [
      {
        name: 'echo_tool',
        input_schema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
        output_schema: {
          type: 'object',
          properties: { echoed: { type: 'string' } },
          required: ['echoed'],
          additionalProperties: false,
        },
      },
    ],
    agents: [{ slug: 'demo', tools: ['echo_tool'] }],
  },
  agent: [
    {
      do: [
        { say: ['Let me ', 'check.'] },
        { call: { tool: 'echo_tool', input: { message: 'hello' } } },
        { say: ['It returned: {{ results.echo_tool.echoed }}', '{{ errors.echo_tool.code }}'] },
      ],
    },
  ],
}

export class Trial {
  output = ''
  #process: ChildProcess | undefined
  #tasks = 0
  #ended: Promise<unknown> = Promise.resolve()

  private constructor(
    readonly workspace: Workspace,
    readonly hub: Hub,
    readonly stateDir: string,
    readonly program: string[],
    /** Who starts the client: another trial, where that one's client is to serve this one too. */
    readonly desk?: Trial,
  ) {}

  /** Loads a scenario, a file's text or an object, and starts a client. */
  static async start(
    mock: Mock,
    scenario: string | object,
    environment: Record<string, string> = {},
    program = PROGRAM,
  ): Promise<Trial> {
    const trial = await Trial.#set(mock, scenario, program)
    trial.spawn(environment)
    return trial
  }

  /** The same for the client of another trial (capability `reuse`). */
  static beside(desk: Trial, mock: Mock, scenario: string | object): Promise<Trial> {
    return Trial.#set(mock, scenario, [], desk)
  }

  static async #set(mock: Mock, scenario: string | object, program: string[], desk?: Trial): Promise<Trial> {
    const workspace = new Workspace(mock.url)
    await workspace.load(typeof scenario === 'string' ? scenario : JSON.stringify(scenario))
    return new Trial(workspace, await Hub.start(), mkdtempSync(join(tmpdir(), 'pantheon-client-')), program, desk)
  }

  spawn(environment: Record<string, string> = {}, ...options: string[]): void {
    const [command, ...own] = this.program
    const child = spawn(command!, [...own, ...options], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        ...process.env,
        PANTHEON_BASE_URL: this.workspace.url,
        PANTHEON_API_KEY: this.workspace.apiKey,
        PANTHEON_AGENT_SLUG: 'demo',
        PANTHEON_HARNESS_URL: this.hub.url,
        PANTHEON_STATE_DIR: this.stateDir,
        ...environment,
      },
    })
    for (const pipe of [child.stdout, child.stderr])
      pipe.setEncoding('utf8').on('data', (text: string) => (this.output += text))
    this.#process = child
    this.#ended = once(child, 'close')
  }

  get input() {
    return this.#process!.stdin!
  }

  /** Gives a task and waits for its end. */
  async perform(task: object, taskId = this.nextTask()): Promise<any> {
    const { hub } = this.desk ?? this
    hub.give({
      task_id: taskId,
      base_url: this.workspace.url,
      api_key: this.workspace.apiKey,
      state_dir: this.stateDir,
      harness_url: this.hub.url,
      ...task,
    })
    return this.hub.done(taskId)
  }

  async converse(more: object = {}, taskId = this.nextTask()): Promise<any> {
    return this.perform({ do: 'converse', agent_slug: 'demo', message: 'Please call it.', ...more }, taskId)
  }

  nextTask(): string {
    this.#tasks += 1
    return `task-${this.#tasks}`
  }

  /** Kills the client at once. */
  async kill(): Promise<void> {
    this.#process?.kill('SIGKILL')
    await this.#ended
  }

  async end(): Promise<void> {
    await this.#ended
  }

  async stop(): Promise<void> {
    await this.kill()
    this.hub.stop()
    rmSync(this.stateDir, { recursive: true })
    assert.ok(!this.output.includes(this.workspace.apiKey), 'C-SEC-2: the key was printed')
  }
}

/** Where tests run: with a desk, its client serves them; without, each has a client of its own. */
export interface Place {
  mock: Mock
  desk?: Trial
}

/** One test. With an environment, even an empty one, it has a client of its own. */
export function trial(
  name: string,
  place: () => Place,
  scenario: string | object,
  body: (trial: Trial) => Promise<void>,
  environment?: Record<string, string>,
): void {
  test(name, { timeout: 60_000 }, async () => {
    const { mock, desk } = place()
    const t =
      desk !== undefined && environment === undefined
        ? await Trial.beside(desk, mock, scenario)
        : await Trial.start(mock, scenario, environment)
    try {
      await body(t)
    } finally {
      await t.stop()
    }
  })
}
