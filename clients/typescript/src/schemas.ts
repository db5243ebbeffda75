/** The input schemas of a session's tools, as its deployment pins them (DEPLOY-2), to check a call before it is executed. */

import type { ValidateFunction } from 'ajv'

import type { Call } from './event.js'
import type { Api } from './http.js'
import { member, rounded, text, texts, type Json } from './json.js'

export class Schemas {
  readonly #api: Api
  readonly #session: string
  readonly #checks = new Map<string, Promise<ValidateFunction | undefined>>()
  #pinned: Promise<string[]> | undefined

  constructor(api: Api, session: string) {
    this.#api = api
    this.#session = session
  }

  /** What is wrong with a call's input; nothing where it is right, or where its schema can't be had (C-TOOL-19). */
  async fault(call: Call): Promise<string | undefined> {
    let check = this.#checks.get(call.name)
    if (check === undefined) {
      check = this.#load(call.name).catch(() => undefined)
      this.#checks.set(call.name, check)
    }
    const validate = await check
    if (validate === undefined || validate(rounded(call.input))) return undefined
    return (validate.errors ?? [])
      .slice(0, 10)
      .map(({ instancePath, message }) => `${instancePath || 'the input'} ${message}`)
      .join('; ')
  }

  async #load(name: string): Promise<ValidateFunction | undefined> {
    this.#pinned ??= this.#pins()
    const pinned = await this.#pinned
    for await (const tool of this.#api.list(`/v1/tools?name=${encodeURIComponent(name)}`)) {
      if (text(tool, 'name') !== name) continue
      const latest = member(tool, 'latest_definition')
      if (pinned.includes(text(latest, 'id') ?? '')) return compile(member(latest, 'input_schema'))
      for await (const version of this.#api.list(`/v1/tools/${encodeURIComponent(text(tool, 'id') ?? '')}/versions`)) {
        if (pinned.includes(text(version, 'id') ?? '')) return compile(member(version, 'input_schema'))
      }
    }
    return undefined
  }

  async #pins(): Promise<string[]> {
    const session = await this.#api.json('GET', `/v1/sessions/${encodeURIComponent(this.#session)}`)
    const deployment = await this.#api.json(
      'GET',
      `/v1/deployments/${encodeURIComponent(text(session, 'deployment_id') ?? '')}`,
    )
    return texts(member(deployment, 'tool_definition_ids'))
  }
}

async function compile(schema: Json | undefined): Promise<ValidateFunction | undefined> {
  if (typeof schema !== 'object' || schema === null) return undefined
  // A client whose agent calls no tool starts the faster without it.
  const { Ajv2020 } = await import('ajv/dist/2020.js')
  // What the server takes as a schema is not to be judged again here; a format is an annotation (2020-12).
  return new Ajv2020({ strict: false, validateFormats: false, logger: false }).compile(schema)
}
