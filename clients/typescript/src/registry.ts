/** Making sure that a tool exists as it is described, and that an agent has it (C-REG-1 to C-REG-4). */

import type { Client } from './client.js'
import { errorOf, Failure } from './failure.js'
import { equal, member, text, texts, write, type Json, type JsonObject } from './json.js'

/** What a version may be made of: nothing else is taken (TOOL-5). */
const VERSION_FIELDS = [
  'description',
  'executor',
  'input_schema',
  'output_schema',
  'side_effect',
  'confirmation',
] as const
/** What an absent field means (TOOL-4, TOOL-9). */
const DEFAULTS: JsonObject = { executor: 'application', side_effect: 'none', confirmation: 'never' }

export interface Registered {
  tool_id: string
  definition_id: string
  version: Json
  deployment_id: string
}

export async function register(client: Client, tool: JsonObject, agentSlug: string): Promise<Registered> {
  const registered = await ensureTool(client, withoutAlways(tool))
  const definition = member(registered, 'latest_definition')
  const [toolId, definitionId] = [need(registered, 'id'), need(definition, 'id')]
  const deploymentId = await ensureDeployment(client, agentSlug, toolId, definitionId)
  return {
    tool_id: toolId,
    definition_id: definitionId,
    version: member(definition, 'version') ?? member(registered, 'latest_version') ?? null,
    deployment_id: deploymentId,
  }
}

/** `always` is refused by the server, and is the application's own affair (C-REG-3). */
export function wantsApproval(tool: JsonObject): boolean {
  return text(tool, 'confirmation') === 'always'
}

function withoutAlways(tool: JsonObject): JsonObject {
  return wantsApproval(tool) ? { ...tool, confirmation: 'never' } : tool
}

/** The tool, by its exact name, with a latest definition that is equal to what is wanted. */
async function ensureTool(client: Client, tool: JsonObject): Promise<Json> {
  const name = need(tool, 'name')
  for await (const found of client.api.list(`/v1/tools?name=${encodeURIComponent(name)}`)) {
    if (text(found, 'name') !== name) continue
    return isAsWanted(member(found, 'latest_definition'), tool) ? found : addVersion(client, need(found, 'id'), tool)
  }
  const fields = pick(tool, ['name', 'display_name', ...VERSION_FIELDS])
  const answer = await client.api.ask({ method: 'POST', path: '/v1/tools', body: write(fields) })
  if (answer.code === undefined && answer.status < 300) return answer.body ?? null
  const taken = text(member(errorOf(answer.body), 'details'), 'tool_id')
  if (answer.code === 'idempotency_conflict' && taken !== undefined) return addVersion(client, taken, tool)
  throw Failure.of('the new tool', answer.status, answer.body)
}

function addVersion(client: Client, toolId: string, tool: JsonObject): Promise<Json> {
  return client.api.json('POST', `/v1/tools/${encodeURIComponent(toolId)}/versions`, pick(tool, VERSION_FIELDS))
}

function isAsWanted(definition: Json | undefined, tool: JsonObject): boolean {
  const value = (of: Json | undefined, field: string) => member(of, field) ?? DEFAULTS[field] ?? ''
  return VERSION_FIELDS.every((field) => equal(value(definition, field), value(tool, field)))
}

/** A deployment of the agent that binds the definition beside all other tools that it has. */
async function ensureDeployment(client: Client, slug: string, toolId: string, definitionId: string): Promise<string> {
  const agentId = await ensureAgent(client, slug)
  let newest: Json | undefined
  // In order of creation (LIST-1), so the last one counts.
  for await (const deployment of client.api.list('/v1/deployments'))
    if (text(deployment, 'agent_id') === agentId) newest = deployment
  const bound = texts(member(newest, 'tool_definition_ids'))
  if (newest !== undefined && bound.includes(definitionId)) return need(newest, 'id')

  // Two definitions of one tool can't be bound together (DEPLOY-1).
  const own = new Set<string>()
  if (bound.length > 0) {
    for await (const version of client.api.list(`/v1/tools/${encodeURIComponent(toolId)}/versions`))
      own.add(text(version, 'id') ?? '')
  }
  const definitions = [...bound.filter((id) => !own.has(id)), definitionId]
  return need(
    await client.api.json('POST', '/v1/deployments', { agent_id: agentId, tool_definition_ids: definitions }),
    'id',
  )
}

async function ensureAgent(client: Client, slug: string): Promise<string> {
  for await (const agent of client.api.list('/v1/agents')) if (text(agent, 'slug') === slug) return need(agent, 'id')
  const answer = await client.api.ask({ method: 'POST', path: '/v1/agents', body: write({ name: slug, slug }) })
  if (answer.code === undefined && answer.status < 300) return need(answer.body, 'id')
  const taken = text(member(errorOf(answer.body), 'details'), 'agent_id')
  if (answer.code === 'idempotency_conflict' && taken !== undefined) return taken
  throw Failure.of('the new agent', answer.status, answer.body)
}

function pick(tool: JsonObject, fields: readonly string[]): JsonObject {
  return Object.fromEntries(fields.flatMap((field) => (tool[field] === undefined ? [] : [[field, tool[field]]])))
}

function need(value: unknown, name: string): string {
  const found = text(value, name)
  if (found === undefined) throw new Failure('answer_unclear', `there is no ${name} where one is needed`)
  return found
}
