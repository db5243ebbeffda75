/** What the environment says. */

export interface Settings {
  baseUrl: string
  apiKey: string
  agentSlug: string
  message: string | undefined
  harnessUrl: string | undefined
  stateDir: string | undefined
  idleMs: number | undefined
  requestTimeoutMs: number | undefined
}

export function settingsFrom(environment: NodeJS.ProcessEnv): Settings {
  const get = (name: string) => environment[`PANTHEON_${name}`] || undefined
  const milliseconds = (name: string) => {
    const value = Number(get(name))
    return Number.isFinite(value) && value > 0 ? value : undefined
  }
  return {
    baseUrl: get('BASE_URL') ?? 'http://127.0.0.1:8000',
    apiKey: get('API_KEY') ?? '',
    agentSlug: get('AGENT_SLUG') ?? 'todo-assistant',
    message: get('MESSAGE'),
    harnessUrl: get('HARNESS_URL'),
    stateDir: get('STATE_DIR'),
    idleMs: milliseconds('IDLE_MS'),
    requestTimeoutMs: milliseconds('REQUEST_TIMEOUT_MS'),
  }
}
