/**
 * JSON as it came: keys, code points and nesting as `JSON.parse` keeps them, and whole numbers beyond 2^53 as `bigint`
 * instead of rounded (C-DATA-1). A second value of one key replaces the first, as everywhere in JavaScript.
 */

import { isInteger, isSafeNumber, parse, stringify } from 'lossless-json'

export type Json = null | boolean | number | bigint | string | Json[] | JsonObject
export type JsonObject = { [name: string]: Json }

/** The value of a JSON text, or nothing where it is none. */
export function read(text: string): Json | undefined {
  try {
    // Only a text with many digits in a row can hold such a number, and the language's own parser is much faster.
    if (!/\d{16}/.test(text)) return JSON.parse(text) as Json
    return parse(text, undefined, { parseNumber, onDuplicateKey: ({ newValue }) => newValue }) as Json
  } catch {
    return undefined
  }
}

/** The text of a value. Throws where it is nested too deeply to be written. */
export function write(value: unknown): string {
  const text = stringify(value)
  if (text === undefined) throw new TypeError('not a JSON value')
  return text
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The member of an object, and nothing where there is no object or no such member of its own. */
export function member(value: unknown, name: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** The member, where it is a text. */
export function text(value: unknown, name: string): string | undefined {
  const found = member(value, name)
  return typeof found === 'string' ? found : undefined
}

/** The texts of a list, and none where there is no list. */
export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : []
}

/** The same value with rounded numbers, for a reader that knows no `bigint`. */
export function rounded(value: Json): Json {
  return JSON.parse(write(value)) as Json
}

/** Whether two values are equal as JSON: the order of members doesn't matter. */
export function equal(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, at) => equal(item, b[at]))
  if (!isObject(a) || !isObject(b)) return false
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && equal(a[name], b[name]))
  )
}

function parseNumber(digits: string): number | bigint {
  return isInteger(digits) && !isSafeNumber(digits) ? BigInt(digits) : Number(digits)
}
