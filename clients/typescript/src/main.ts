/** `node dist/src/main.js [--plain]`: under a harness where there is one, or plain. */

import { serve } from './harness.js'
import { talk, withoutKey } from './plain.js'
import { settingsFrom } from './settings.js'

const settings = settingsFrom(process.env)
const isPlain = process.argv.includes('--plain') || settings.harnessUrl === undefined

try {
  if (isPlain) process.exitCode = (await talk(settings)) ? 0 : 1
  else await serve(settings.harnessUrl!, settings)
} catch (error) {
  console.error(withoutKey(error instanceof Error ? error.message : String(error), settings.apiKey))
  process.exitCode = 1
}
// A tool that is still at work, or a connection that is kept for later, holds nobody up.
process.exit()
