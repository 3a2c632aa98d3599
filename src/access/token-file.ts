import { readFile } from 'node:fs/promises'
import { type Log } from '../base/log.ts'
import { type Caller, type CallerLimits } from './caller.ts'
import { parseTokens, type TokenHolders } from './tokens.ts'

/** The pause between two reads of the token file, in ms. A token that is removed from the file is refused within about that time. */
const INTERVAL = 1000

export interface TokenFileOptions {
  readonly path: string
  /** The limits of a caller whose token sets no limits of its own. */
  readonly defaults: CallerLimits
  readonly log: Log
}

/**
 * The tokens in a file that is read again while the service runs, so that tokens can be given and revoked without a restart. When the file cannot be
 * parsed, that is logged and the last good tokens stay valid, because a mistake in the file must lock nobody out. The whole file is read each time,
 * since it is small. A file watcher would miss the symbolic links that Kubernetes swaps behind a mounted Secret, and the modification time does not
 * show two changes within one tick of the clock.
 */
export class TokenFile {
  readonly #options: TokenFileOptions
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #text: string
  #holders: TokenHolders
  #problem: string | undefined

  /**
   * Reads the token file and begins to watch it.
   * @throws Error when the file cannot be used; its message gives the reason and quotes no hash
   */
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

  /** Finds the caller who holds a token, in the last version of the file that could be parsed; `undefined` for an unknown token. */
  find (token: string): Caller | undefined {
    return this.#holders.findCaller(token)
  }

  /** Finds the caller with a name, in the last version of the file that could be parsed; `undefined` for an unknown name. */
  named (name: string): Caller | undefined {
    return this.#holders.callerNamed(name)
  }

  /** The names of all callers, in the last version of the file that could be parsed. */
  names (): readonly string[] {
    return this.#holders.names()
  }

  /** Reads the token file again; a timer calls this about once a second. */
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

  /** Plans the next read only after the last one has ended, so that reads never overlap on a slow disk. */
  #schedule (): void {
    if (!this.#isClosed) this.#timer = setTimeout(() => { void this.refresh().then(() => { this.#schedule() }) }, INTERVAL).unref()
  }
}

/** Parses the token file. An empty file is refused: it is more likely half written than meant to lock everybody out. */
function parse (text: string, defaults: CallerLimits): TokenHolders {
  if (text.trim() === '') throw new Error('expected at least one token, and the file is empty')
  return parseTokens(text, defaults)
}
