import { type Syntax } from '../language.ts'
import { FUNCTIONS } from './functions.ts'

const GO_WORDS = [
  'and', 'block', 'break', 'call', 'continue', 'default', 'define', 'else', 'end', 'eq', 'false', 'ge', 'gt', 'html', 'if', 'index', 'js', 'le',
  'len', 'lt', 'ne', 'nil', 'not', 'or', 'print', 'printf', 'println', 'range', 'slice', 'template', 'true', 'urlquery', 'with'
]
const HANDLEBARS_WORDS = ['as', 'blockHelperMissing', 'each', 'helperMissing', 'inline', 'log', 'lookup', 'null', 'this', 'undefined', 'unless']

/**
 * The names of members that every JavaScript object has. No template can read these members, but a tool of such a name would confuse people who read
 * templates.
 */
const JAVASCRIPT_WORDS = ['__proto__', 'constructor', 'hasOwnProperty', 'prototype', 'toString', 'valueOf']

/** The words that have a meaning in each template language, besides the functions that both languages share. Some are words of both languages. */
export const LANGUAGE_WORDS: Readonly<Record<Syntax, ReadonlySet<string>>> = { go: new Set(GO_WORDS), handlebars: new Set(HANDLEBARS_WORDS) }

/** The function names that no registered tool can have, because the tool would hide a function on which templates rely. */
export const RESERVED_FUNCTIONS: ReadonlySet<string> = new Set([...FUNCTIONS.keys(), ...GO_WORDS, ...HANDLEBARS_WORDS, ...JAVASCRIPT_WORDS])
