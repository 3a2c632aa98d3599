import { readFileSync, statSync } from 'node:fs'
import { chmod, mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type JsonObject, parseJson } from '../../base/json.ts'
import { yamlToJson } from '../../store/yaml-to-json.ts'
import { usageError } from '../exit-codes.ts'
import { objectOf, textOf } from '../json-members.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** A service whose address and token the user has saved with `aps login`. */
export interface Profile {
  readonly url: string
  readonly token?: string
  /** A shell command that prints the token, for users who keep it in a password manager. */
  readonly tokenCommand?: string
}

/** The content of the user's file of profiles, which `aps login` writes. */
export interface Profiles {
  /** The name of the profile that a command uses if the user names none; `undefined` if no profile was saved. */
  readonly current: string | undefined
  readonly named: ReadonlyMap<string, Profile>
}

const NONE: Profiles = { current: undefined, named: new Map() }

/** The path of the user's file of profiles; `undefined` if no home folder is known. */
export function profilesFile ({ XDG_CONFIG_HOME: folder, HOME: home, USERPROFILE: windows }: Environment): string | undefined {
  const above = folder || (home || windows ? join(home || windows || '', '.config') : '')
  return above === '' ? undefined : join(above, 'ai-prompt-shell', 'config.yaml')
}

/**
 * Reads the user's file of profiles.
 * @returns an empty list of profiles if there is no file
 * @throws CliError if the file is wrong, or if its permissions let other users of the machine read it
 */
export function readProfiles (environment: Environment): Profiles {
  const file = profilesFile(environment)
  if (file === undefined) return NONE
  const text = readPrivate(file)
  if (text === undefined || text.trim() === '') return NONE
  const read = yamlToJson(text)
  if (read.kind !== 'text') throw usageError(`${file} ${read.kind === 'bad' ? read.reason : 'is gone'}`)
  const { profile, profiles } = objectOf(parseJson(read.text))
  return {
    current: textOf(profile) === '' ? undefined : textOf(profile),
    named: new Map(Object.entries(objectOf(profiles)).map(([name, value]) => [name, profileIn(objectOf(value))]))
  }
}

/** Saves a profile, and makes it the current one. @returns the path of the file */
export async function writeProfile (environment: Environment, name: string, profile: Profile): Promise<string> {
  const file = profilesFile(environment)
  if (file === undefined) throw usageError('there is no home to keep a profile in: set HOME or XDG_CONFIG_HOME')
  const { named } = readProfiles(environment)
  const { stringify } = await import('yaml')
  const content = stringify({ profile: name, profiles: Object.fromEntries(new Map([...named, [name, profile]])) })
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${process.pid}`
  await writeFile(temporary, content, { mode: 0o600 })
  await chmod(temporary, 0o600)
  await rename(temporary, file)
  return file
}

function readPrivate (file: string): string | undefined {
  try {
    const isOpen = process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0
    if (isOpen) throw usageError(`${file} may be read by others, and tokens are in it: chmod 600 ${file}`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw (error as NodeJS.ErrnoException).code === undefined ? error : usageError(`${file} cannot be read: ${(error as Error).message}`)
  }
}

function profileIn ({ url, token, tokenCommand }: JsonObject): Profile {
  return {
    url: textOf(url),
    ...(textOf(token) === '' ? {} : { token: textOf(token) }),
    ...(textOf(tokenCommand) === '' ? {} : { tokenCommand: textOf(tokenCommand) })
  }
}
