import { type Syntax } from '../language.ts'
import { FUNCTIONS } from './functions.ts'

const GO_WORDS = [
  'and', 'block', 'break', 'call', 'continue', 'default', 'define', 'else', 'end', 'eq', 'false', 'ge', 'gt', 'html', 'if', 'index', 'js', 'le',
  'len', 'lt', 'ne', 'nil', 'not', 'or', 'print', 'printf', 'println', 'range', 'slice', 'template', 'true', 'urlquery', 'with'
]
const HANDLEBARS_WORDS = ['as', 'blockHelperMissing', 'each', 'helperMissing', 'inline', 'log', 'lookup', 'null', 'this', 'undefined', 'unless']

/** Names that every JavaScript object answers to. Nothing looks them up here, but a reader of a template should not have to wonder. */
const JAVASCRIPT_WORDS = ['__proto__', 'constructor', 'hasOwnProperty', 'prototype', 'toString', 'valueOf']

/** Words that a language has beside the functions that both share, some of them in both. */
export const LANGUAGE_WORDS: Readonly<Record<Syntax, ReadonlySet<string>>> = { go: new Set(GO_WORDS), handlebars: new Set(HANDLEBARS_WORDS) }

/** Function names that no registered tool can have: it would shadow what templates count on. */
export const RESERVED_FUNCTIONS: ReadonlySet<string> = new Set([...FUNCTIONS.keys(), ...GO_WORDS, ...HANDLEBARS_WORDS, ...JAVASCRIPT_WORDS])
