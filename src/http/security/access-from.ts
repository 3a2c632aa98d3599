import { TokenFile } from '../../access/token-file.ts'
import { parseTokens } from '../../access/tokens.ts'
import { type Log } from '../../base/log.ts'
import { ConfigError, type Config } from '../../config/config.ts'
import { type Access } from './access.ts'
import { hostNames } from './host-names.ts'

/** Makes the rules of access from the configuration. @throws ConfigError that names the wrong environment variable, and shows no hash of a token */
export async function accessFrom (config: Config, log: Log): Promise<Access> {
  const { API_TOKENS: tokens, API_TOKENS_FILE: path } = config
  const defaults = { requests: config.RATE_LIMIT_REQUESTS || undefined, tokens: config.RATE_LIMIT_TOKENS || undefined }
  try {
    if (tokens !== '') return { mode: 'tokens', ...parseTokens(tokens, defaults) }
    if (path !== '') return openFile(await TokenFile.open({ path, defaults, log }))
  } catch (error) {
    throw new ConfigError(`${tokens === '' ? 'API_TOKENS_FILE' : 'API_TOKENS'}: ${(error as Error).message}`)
  }
  return { mode: 'open', hosts: hostNames(allowedHosts(config)), origins: new Set(corsOrigins(config)) }
}

function openFile (file: TokenFile): Access {
  return {
    mode: 'tokens',
    findCaller: token => file.find(token),
    callerNamed: name => file.named(name),
    names: () => file.names(),
    close: () => { file.close() }
  }
}

/**
 * Reads from the configuration the origins whose pages may call the service. @throws ConfigError when `CORS_ORIGINS` has anything but
 * origins
 */
export function corsOrigins ({ CORS_ORIGINS: text }: Config): readonly string[] {
  const origins = listed(text)
  const wrong = origins.find(origin => !URL.canParse(origin) || new URL(origin).origin !== origin)
  if (wrong !== undefined) throw new ConfigError(`CORS_ORIGINS: expected origins such as https://console.example.com, got "${wrong}"`)
  return origins
}

function allowedHosts ({ ALLOWED_HOSTS: text }: Config): readonly string[] {
  const names = listed(text)
  const wrong = names.find(name => !/^[\w-]+(?:\.[\w-]+)*$/.test(name))
  if (wrong !== undefined) throw new ConfigError(`ALLOWED_HOSTS: expected names such as prompts.example.com, without a port, got "${wrong}"`)
  return names
}

function listed (text: string): string[] {
  return text.split(',').map(each => each.trim()).filter(each => each !== '')
}
