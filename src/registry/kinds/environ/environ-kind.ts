import { decodeEnviron } from '../../entries/decode-value.ts'
import { type Kind } from '../kind.ts'
import { lintEnvironName } from './environs.ts'

/**
 * The kind of entries that are shared variables, stored under `shenma:environs:*`. A render needs only a few of thousands of them. So only names are
 * loaded at start, and a value is read when it is first used.
 */
export const environKind: Kind = {
  key: 'environs',
  name: 'environs',
  noun: 'shared variable',
  reading: 'lazy',
  access: 'environs',
  decode: decodeEnviron,
  normalise: value => value,
  async check ({ id, text }) {
    return [...lintEnvironName(id), ...decodeEnviron(text).diagnostics]
  }
}
