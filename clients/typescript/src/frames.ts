/**
 * From bytes to frames, on `eventsource-parser`. It keeps the WHATWG rules on its own: every line end wherever the bytes
 * are split, fields, comments, an id with NUL, linear time. Three things are left to its user, and are done here:
 *
 * - It takes text. The decoder is told to keep a byte-order mark, since the parser drops one by itself, and one only.
 * - It says an id in `onId` also for a frame without data, which has no other effect.
 * - A frame is given out at its blank line; what is left at the end is dropped by never asking for it (C-SSE-6).
 */

import { createParser } from 'eventsource-parser'

export interface Frame {
  /** The `id` field, where the frame has one. */
  id: string | undefined
  /** The `event` field. */
  type: string | undefined
  /** Nothing where the frame has no data: only its id counts. */
  data: string | undefined
}

export class FrameReader {
  #frames: Frame[] = []
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  readonly #parser

  /** `onRetry` is told the least delay that the server asks for, in milliseconds. */
  constructor(onRetry: (ms: number) => void) {
    this.#parser = createParser({
      onId: (id) => this.#frames.push({ id, type: undefined, data: undefined }),
      onEvent: ({ id, event, data }) => {
        // Its id has just been said, as that of a frame without data.
        if (id !== undefined) this.#frames.pop()
        this.#frames.push({ id, type: event, data })
      },
      onRetry,
    })
  }

  /** The frames that these bytes complete. */
  feed(bytes: Uint8Array): Frame[] {
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }))
    return this.#frames.splice(0)
  }
}
