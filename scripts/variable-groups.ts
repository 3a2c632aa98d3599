/** The topics of docs/configuration.md and .env.example, and the variables of each; the first that fits has a variable. */
const GROUPS: ReadonlyArray<readonly [title: string, names: RegExp]> = [
  ['Where registrations are', /^(?:REDIS_|STORE_DIR$|KEY_PREFIX$|POLL_INTERVAL_MS$|EMPTY_HOLD_MS$|ENVIRON_CACHE_BYTES$)/],
  ['Versions and labels', /^(?:VERSIONS|DEFAULT_LABEL|PROTECTED_LABELS)$/],
  ['The process and its port', /^(?:HOST|PORT|PUBLIC_URL|REPLICA_URL|WORKERS|WARM_UP_MS|DRAIN_\w+|ALLOW_ROOT)$/],
  ['Who may call', /^(?:API_TOKENS\w*|AUTH\w*|ALLOWED_HOSTS|CORS_ORIGINS|RATE_LIMIT_\w+)$/],
  ['Bounds, pages and protocols', /^(?:RENDER_TIMEOUT_MS|(?:CHAT_)?BODY_LIMIT_BYTES|MCP_SERVER|CONSOLE)$/],
  ['The log', /^LOG_/],
  ['Models', /^(?:LLM_|AI_|CHAT_|MEDIA_|PRICES_)/],
  ['Tools', /^(?:TOOL_|EGRESS|MCP_STDIO_)/],
  ['Sessions, commands and workspaces', /^(?:SESSION_|STATE_DIR$|OPERATOR_FILE$|DEFAULT_LANGUAGE$)/],
  ['Plans', /^PAPAYU_/]
]

/**
 * Sorts variables by topic; topics without a variable are left out.
 * @throws Error for a variable that is in no topic
 */
export function byTopic<T extends { readonly name: string }> (variables: readonly T[]): ReadonlyArray<readonly [title: string, variables: readonly T[]]> {
  const topicOf = ({ name }: T) => GROUPS.find(([, names]) => names.test(name))?.[0]
  const lost = variables.find(variable => topicOf(variable) === undefined)
  if (lost !== undefined) throw new Error(`${lost.name} is in no group of scripts/variable-groups.ts`)
  return GROUPS.map(([title]) => [title, variables.filter(variable => topicOf(variable) === title)] as const).filter(([, own]) => own.length > 0)
}
