import { isJsonObject, type Json, stringifyJson } from '../../base/json.ts'
import { statusError } from '../provider/judge-reply.ts'
import { openAiError } from '../upstream-error.ts'
import { type BuiltinAnswer } from './builtin-answer.ts'
import { type BuiltinRequest } from './builtin-model.ts'
import { echo } from './echo.ts'
import { textOf } from './request-texts.ts'

/** One rule of a script, as `jsonschema/replies.json` describes it: conditions on a request, and the answer to it. */
export interface ReplyRule {
  readonly last?: string | readonly string[]
  readonly user?: string | readonly string[]
  readonly system?: string | readonly string[]
  readonly offers?: string | boolean
  readonly reply?: string
  readonly calls?: NonNullable<BuiltinAnswer['calls']>
  readonly fail?: { readonly status: number, readonly message?: string }
}

/** The parts of a request with which the conditions of a script's rules are compared. */
interface Said {
  readonly last: string
  readonly user: string
  readonly system: string
  readonly offered: ReadonlySet<Json>
}

/**
 * Makes the function that answers requests by a script. The first rule whose conditions are all true gives the answer; a request that no rule matches
 * is echoed. A rule with `fail` throws what an API over HTTP would throw.
 */
export function followScript (rules: readonly ReplyRule[]): (request: BuiltinRequest) => BuiltinAnswer {
  const prepared = rules.map(rule => ({ rule, last: textsOf(rule.last), user: textsOf(rule.user), system: textsOf(rule.system) }))
  return request => {
    const said = saidIn(request)
    const chosen = prepared.find(
      ({ rule, last, user, system }) =>
        holds(last, said.last) && holds(user, said.user) && holds(system, said.system) && isOffered(rule.offers, said.offered)
    )
    if (chosen === undefined) return echo(request)
    const { reply, calls, fail } = chosen.rule
    if (fail !== undefined) throw failure(fail)
    return { text: reply, calls }
  }
}

function saidIn ({ messages, fields }: BuiltinRequest): Said {
  const instructions = messages.filter(({ role }) => role === 'system' || role === 'developer')
  const tools = Array.isArray(fields['tools']) ? fields['tools'] as readonly Json[] : []
  return {
    last: folded(textOf(messages.at(-1))),
    user: folded(textOf(messages.findLast(({ role }) => role === 'user'))),
    system: folded(instructions.map(textOf).join('\n')),
    offered: new Set(tools.map(nameOf))
  }
}

function nameOf (tool: Json): Json {
  const called = isJsonObject(tool) ? tool['function'] : undefined
  return isJsonObject(called) ? called['name'] ?? null : null
}

function isOffered (wanted: string | boolean | undefined, offered: ReadonlySet<Json>): boolean {
  if (wanted === undefined) return true
  return typeof wanted === 'string' ? offered.has(wanted) : wanted === (offered.size > 0)
}

function holds (texts: readonly string[], said: string): boolean {
  return texts.every(text => said.includes(text))
}

function textsOf (condition: string | readonly string[] | undefined): string[] {
  return [condition ?? []].flat().map(folded)
}

/** The form in which texts are compared: composed Unicode in lower case, so that texts which look the same are equal. */
function folded (text: string): string {
  return text.normalize('NFC').toLowerCase()
}

function failure ({ status, message = `the script fails here with status ${status}` }: NonNullable<ReplyRule['fail']>): Error {
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  const body = Buffer.from(stringifyJson(openAiError(message, type, null)))
  return statusError({ status, headers: {}, body }, text => text)
}
