/** Plain mode: says the message, or each line of standard input, in one session, and prints what the agent answers. */

import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'

import { toolError, type Application } from './application.js'
import { Client } from './client.js'
import { converse } from './conversation.js'
import { executeAt, Link } from './link.js'
import type { Settings } from './settings.js'

/** Whether all went well. */
export async function talk(settings: Settings): Promise<boolean> {
  const client = new Client(settings)
  const print = (text: string) => console.log(withoutKey(text, settings.apiKey))
  const app = applicationOf(settings, print)
  let allWell = true
  let session: string | undefined
  for await (const message of messages(settings)) {
    const opening = session === undefined ? { agent_slug: settings.agentSlug } : { session }
    const done = await converse(client, app, { task: randomUUID(), opening, message })
    session = done.session_id ?? session
    allWell &&= done.status === 'completed'
  }
  return allWell
}

async function* messages({ message }: Settings): AsyncGenerator<string> {
  if (message !== undefined) return yield message
  for await (const line of createInterface(process.stdin)) if (line.trim() !== '') yield line
}

/** Its tools are where the environment says, if anywhere. There is nobody to ask for approval. */
function applicationOf({ harnessUrl }: Settings, print: (text: string) => void): Application {
  const link = harnessUrl === undefined ? undefined : new Link(harnessUrl)
  return {
    async execute(call, { session, run }) {
      return link === undefined
        ? toolError('UNKNOWN_TOOL', `There is no tool ${call.name}.`)
        : executeAt(link, call, session, run)
    },
    async correct() {
      return toolError('RESULT_INVALID', "The tool's result does not fit its output schema.")
    },
    needsApproval: () => false,
    approve: async () => false,
    tell(news) {
      if (news.kind === 'text') print(news.text)
      if (news.kind === 'error') print(`error: ${news.failure.code}: ${news.failure.message}`)
    },
  }
}

/** Whatever the server says, the key is not printed (C-SEC-2). */
export function withoutKey(text: string, key: string): string {
  return key === '' ? text : text.replaceAll(key, '[key]')
}
