/** A stand-in for the harness: it gives tasks, executes tools, and keeps what it is told. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

export interface ToolCall {
  name: string
  input: any
  tool_call_id: string
  execution_idempotency_key: string
  run_id: string
}

export interface Item {
  kind: 'event' | 'item' | 'text' | 'error'
  type?: string
  sse_id?: string
  data?: any
  tool_call_id?: string
  status?: string
  text?: string
  code?: string
  active_run_id?: string
}

type Handler<Body> = (body: Body, signal: AbortSignal) => unknown

export class Hub {
  /** What a tool does; an answer that is text goes out as it is. */
  onTool: Handler<ToolCall> = ({ input }) => ({ content: { echoed: input.message } })
  onCorrect: Handler<any> = () => ({ error: { code: 'NO_CORRECTION', message: 'none', retryable: false } })
  onApprove: Handler<ToolCall> = () => ({ approved: true })
  /** Told of each execution once it has had its effect. */
  onTooled: () => Promise<void> | void = () => {}
  /** Told of each request before it is answered. */
  onRequest: (path: string) => Promise<void> | void = () => {}

  readonly hellos: any[] = []
  readonly toolCalls: ToolCall[] = []
  readonly corrections: any[] = []
  readonly approvals: ToolCall[] = []
  readonly items: Item[] = []
  readonly #tasks: object[] = []
  readonly #dones = new Map<string, any>()
  readonly #listeners = new Set<() => void>()
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    server.on('request', (request, response) => void this.#serve(request, response))
  }

  static async start(): Promise<Hub> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Hub(server)
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/secret`
  }

  give(task: object): void {
    this.#tasks.push(task)
    this.#changed()
  }

  async done(taskId: string): Promise<any> {
    await this.until(() => this.#dones.has(taskId))
    return this.#dones.get(taskId)
  }

  /** Waits until something is so; looked at again at each request that comes. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((resolve) => this.#listeners.add(resolve))
  }

  of(kind: Item['kind']): Item[] {
    return this.items.filter((item) => item.kind === kind)
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const body = text === '' ? undefined : JSON.parse(text)
    const gone = new AbortController()
    response.on('close', () => {
      gone.abort()
      this.#changed()
    })
    const answer = await this.#answer(new URL(request.url!, 'http://hub').pathname, body, gone.signal)
    if (answer === undefined) response.writeHead(204).end()
    else
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(typeof answer === 'string' ? answer : JSON.stringify(answer))
    this.#changed()
  }

  async #answer(path: string, body: any, signal: AbortSignal): Promise<unknown> {
    const name = path.replace('/secret/', '')
    await this.onRequest(name)
    switch (name) {
      case 'hello':
        this.hellos.push(body)
        return { protocol: 1, scenario: 'test' }
      case 'task':
        await this.until(() => this.#tasks.length > 0 || signal.aborted)
        // A client that has died must not take a task with it.
        return signal.aborted ? undefined : this.#tasks.shift()
      case 'tool':
        this.toolCalls.push(body)
        this.#changed()
        await this.onTooled()
        return this.onTool(body, signal)
      case 'correct':
        this.corrections.push(body)
        return this.onCorrect(body, signal)
      case 'approve':
        this.approvals.push(body)
        this.#changed()
        return this.onApprove(body, signal)
      case 'report':
        this.items.push(...body.items)
        return undefined
      case 'done':
        this.#dones.set(body.task_id, body)
        return undefined
      default:
        return { error: path }
    }
  }

  #changed(): void {
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const resolve of listeners) resolve()
  }
}
