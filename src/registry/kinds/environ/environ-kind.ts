import { decodeEnviron } from '../../entries/decode-value.ts'
import { type Kind } from '../kind.ts'
import { lintEnvironName } from './environs.ts'

/** Shared variables, `shenma:environs:*`: of thousands a render needs a few, so names are loaded and values read on use. */
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
