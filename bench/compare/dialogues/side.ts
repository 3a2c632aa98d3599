/** What came of a turn. */
export interface Turn {
  /** The last words of the agent; undefined where the turn has failed, or waits. */
  readonly answer: string | undefined
  /** Why the turn has failed. */
  readonly failed: string | undefined
  /** Whether it waits for a person's decision. */
  readonly waits: boolean
}

/** A dialogue at one of the two, as its user has it. */
export interface Dialogue {
  say (text: string): Promise<Turn>
  /** Asks again after a turn without an answer, as the product wants it asked. @param text what was said */
  retry (text: string): Promise<Turn>
  /** Says yes to what waits. */
  approve (): Promise<Turn>
  /** What there is to see after the process has been killed and started again, and whatever its user has to do for that. */
  goOn (): Promise<Turn>
  /** From the sending of a message to its answer's first words at the reader, in ms. */
  firstWords (text: string): Promise<number>
}

/** One of the two that are compared: a process of its own, over a store that stays. */
export interface Side {
  readonly name: string
  start (): Promise<void>
  /** `kill -9`, whatever it does just now. */
  kill (): Promise<void>
  open (agent: 'desk' | 'guide' | 'librarian'): Promise<Dialogue>
}

/** Reads a stream of server-sent events until a line of data fits. @returns ms since `begun` @throws Error when the stream ends before */
export async function firstFitting (response: { readonly body: AsyncIterable<Uint8Array> | null }, begun: number, fits: (frame: string) => boolean): Promise<number> {
  if (response.body === null) throw new Error('no body')
  const decoder = new TextDecoder()
  let text = ''
  let at: number | undefined
  // The rest is read as well: a turn that nobody reads to its end is given up.
  for await (const chunk of response.body) {
    text += decoder.decode(chunk, { stream: true })
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    if (at === undefined && frames.some(fits)) at = performance.now() - begun
  }
  if (at === undefined) throw new Error('a stream without words')
  return at
}
