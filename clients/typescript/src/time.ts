/** Waiting: how long, and for whom. */

/** The longest wait that a client takes upon itself because a server asks for it, in milliseconds. */
export const LONGEST_WAIT_MS = 60_000

/** Waits that double from `firstMs` to `mostMs`, with up to a tenth more, so that many clients don't come at once. */
export function backOff(tries: number, firstMs: number, mostMs: number): number {
  return Math.min(firstMs * 2 ** Math.min(tries, 30), mostMs) * (1 + Math.random() / 10)
}

/** Waits; returns early, and without an error, when the signal is given. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end, { once: true })
  })
}

/**
 * How long an answer asks to wait before the request is repeated, in milliseconds; nothing where it asks for nothing or
 * for nonsense (C-HTTP-1). A date counts from the answer's own `Date`, since the server's clock is not ours.
 */
export function retryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim()
  if (value === undefined) return undefined
  if (/^\d+(\.\d+)?$/.test(value)) return atLeast(Number(value) * 1000)
  const then = readDate(value)
  if (then === undefined) return undefined
  return atLeast(then - (readDate(headers.get('date') ?? '') ?? Date.now()))
}

/** A timer may fire a moment early, and a request must not. */
function atLeast(ms: number): number | undefined {
  return ms > 0 ? ms + 20 : undefined
}

/** The three forms of an HTTP date. `Date.parse` alone would take `-1` for a year. */
function readDate(value: string): number | undefined {
  if (!/^[A-Za-z]{3,9},? /.test(value)) return undefined
  const then = Date.parse(/GMT$/.test(value) ? value : `${value} GMT`)
  return Number.isNaN(then) ? undefined : then
}
