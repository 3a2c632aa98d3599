import { createHash } from 'node:crypto'

/** The longest name that a function may have for a model, in characters: https://platform.openai.com/docs/api-reference/chat/create */
const MAX_LENGTH = 64

/**
 * Gives each thing a name that another place accepts, and that is its own. Where several things would get one name, it goes to the one that is called
 * so already, else to the first; the others get a piece of a hash of what they are called.
 * @param names what the things are called, each once
 * @param adapt makes of it what the other place accepts
 * @param taken names that are none of theirs
 */
export function ownNames (
  names: readonly string[],
  adapt: (name: string) => string,
  taken: ReadonlySet<unknown> = new Set(),
  longest = Infinity
): Map<string, string> {
  const given = new Map<string, string>()
  const used = new Set(taken)
  const isAdapted = (name: string) => Number(adapt(name).slice(0, longest) !== name)
  for (const name of [...names].sort((one, other) => isAdapted(one) - isAdapted(other))) {
    const plain = adapt(name).slice(0, longest)
    const own = used.has(plain) ? `${plain.slice(0, longest - 9)}_${createHash('sha256').update(name).digest('hex').slice(0, 8)}` : plain
    used.add(own)
    given.set(name, own)
  }
  return given
}

/** The names of functions for models, which accept ASCII only, while names in templates may have letters of any language. */
export function modelNames (names: readonly string[], taken?: ReadonlySet<unknown>): Map<string, string> {
  return ownNames(names, name => name.replace(/[^\w-]/g, '_'), taken, MAX_LENGTH)
}
