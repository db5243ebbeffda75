/** What a frame tells, once its data has been read. */

import type { Frame } from './frames.js'
import { isObject, member, read, text, texts, type Json, type JsonObject } from './json.js'

export interface SessionEvent {
  /** The id of its frame. An event without one is not durable: it is never acted on, and no cursor (SSE-3). */
  id: string | undefined
  type: string
  data: Json
  /** Without dashes and in lower case, as {@link runKey} makes it. */
  run: string | undefined
  /** Whether all is there that an event of its type needs to be acted on. */
  isWhole: boolean
}

/** A call of an application tool, as its `agent.custom_tool_use` tells it. */
export interface Call {
  eventId: string
  toolCallId: string
  /** The tool is executed once for each of these (C-TOOL-1). */
  executionKey: string
  name: string
  input: Json
}

/** The types that a run is moved by. */
const ACTED_ON = [
  'tool.started',
  'agent.custom_tool_use',
  'session.status_idle',
  'tool.completed',
  'tool.failed',
  'message.completed',
  'run.completed',
  'run.failed',
  'run.cancelled',
]

/**
 * The event of a frame; nothing where the frame has no data (C-SSE-5). A durable event repeats the id of its frame
 * (SSE-2); where it doesn't, as where it is no JSON, it is not what the id stands for, and has none.
 */
export function eventOf(frame: Frame): SessionEvent | undefined {
  if (frame.data === undefined) return undefined
  const data = read(frame.data) ?? frame.data
  return eventFrom(frame.id !== '' && frame.id === text(data, 'id') ? frame.id : undefined, frame.type, data)
}

/** An event as a list of events tells it (LIST-1): its id is that of its frame (SSE-2). */
export function listedEvent(data: Json): SessionEvent {
  return eventFrom(text(data, 'id'), undefined, data)
}

/** A run id as it is compared: servers write it with dashes or without (C-RUN-4). */
export function runKey(id: string): string {
  return id.replaceAll('-', '').toLowerCase()
}

/** The text of a message. */
export function textOf(event: SessionEvent): string {
  const content = member(event.data, 'content')
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map((part) => text(part, 'text') ?? '').join('') : ''
}

/** What `session.status_idle` requires. */
export function requiredBy(event: SessionEvent): string[] {
  const reason = member(about(event), 'stop_reason')
  return text(reason, 'type') === 'requires_action' ? texts(member(reason, 'event_ids')) : []
}

export function callOf(event: SessionEvent): Call | undefined {
  const call = about(event)
  const [toolCallId, name, input] = [text(call, 'tool_call_id'), text(call, 'name'), member(call, 'input')]
  if (event.id === undefined || toolCallId === undefined || name === undefined || input === undefined) return undefined
  return {
    eventId: event.id,
    toolCallId,
    executionKey: text(call, 'execution_idempotency_key') ?? event.id,
    name,
    input,
  }
}

/** The object that an event is about: `content`, or `data` where that says nothing (SSE-4). */
export function about(event: SessionEvent): JsonObject {
  for (const place of ['content', 'data']) {
    const found = member(event.data, place)
    if (isObject(found)) return found
  }
  return {}
}

function eventFrom(id: string | undefined, frameType: string | undefined, data: Json): SessionEvent {
  const named = text(data, 'type')
  const type = frameType ?? named ?? 'message'
  const runId = text(data, 'run_id')
  const event: SessionEvent = { id, type, data, run: runId && runKey(runId), isWhole: true }
  if (!ACTED_ON.includes(type)) return event
  // A frame that contradicts itself, or doesn't say whose it is, is not believed.
  event.isWhole =
    isObject(data) &&
    (named === undefined || named === type) &&
    event.run !== undefined &&
    (type !== 'agent.custom_tool_use' || callOf(event) !== undefined)
  return event
}
