import { readFile } from 'node:fs/promises'
import { type Log } from '../base/log.ts'
import { type Caller, type CallerLimits } from './caller.ts'
import { parseTokens, type TokenHolders } from './tokens.ts'

/** How long after a reading the next one begins, in ms: a token that is taken out is refused within about that time. */
const INTERVAL = 1000

export interface TokenFileOptions {
  readonly path: string
  /** Limits of tokens that name none. */
  readonly defaults: CallerLimits
  readonly log: Log
}

/**
 * Tokens from a file that is read again while the service runs, so that a token is given or revoked without a restart. A
 * file that cannot be used changes nothing, and is logged: a slip must lock nobody out.
 *
 * The whole file is read each time: it is small, and what watches files misses the links that Kubernetes swaps behind a
 * mounted Secret, and changes within one tick of a file's time.
 */
export class TokenFile {
  readonly #options: TokenFileOptions
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #text: string
  #holders: TokenHolders
  #problem: string | undefined

  /** @throws Error when the file cannot be used, with the reason and without a hash */
  static async open (options: TokenFileOptions): Promise<TokenFile> {
    const text = await readFile(options.path, 'utf8')
    return new TokenFile(options, text, parse(text, options.defaults))
  }

  private constructor (options: TokenFileOptions, text: string, holders: TokenHolders) {
    this.#options = options
    this.#text = text
    this.#holders = holders
    this.#schedule()
  }

  /** Who presents a token, by the last version of the file that could be used. */
  find (token: string): Caller | undefined {
    return this.#holders.findCaller(token)
  }

  /** Who is called so, by the same version. */
  named (name: string): Caller | undefined {
    return this.#holders.callerNamed(name)
  }

  /** What all holders are called, by the same version. */
  names (): readonly string[] {
    return this.#holders.names()
  }

  /** Reads the file again, as happens every second. */
  async refresh (): Promise<void> {
    const { path, defaults, log } = this.#options
    try {
      const text = await readFile(path, 'utf8')
      if (text !== this.#text) {
        this.#holders = parse(text, defaults)
        this.#text = text
        log.info({}, 'API_TOKENS_FILE has changed: its tokens are in force')
      } else if (this.#problem !== undefined) {
        log.info({}, 'API_TOKENS_FILE is as it was before')
      }
      this.#problem = undefined
    } catch (error) {
      const { message } = error as Error
      if (message !== this.#problem) {
        log.error({ reason: message }, 'API_TOKENS_FILE cannot be used: the tokens of before stay in force, and those that it should revoke')
      }
      this.#problem = message
    }
  }

  close (): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  /** One reading at a time, however slow the file's disk is. */
  #schedule (): void {
    if (!this.#isClosed) this.#timer = setTimeout(() => { void this.refresh().then(() => { this.#schedule() }) }, INTERVAL).unref()
  }
}

/** A file without a token is more likely to be half written than meant. */
function parse (text: string, defaults: CallerLimits): TokenHolders {
  if (text.trim() === '') throw new Error('expected at least one token, and the file is empty')
  return parseTokens(text, defaults)
}
