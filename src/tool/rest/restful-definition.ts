import { type JsonObject } from '../../base/json.ts'
import { type CommonDefinition, type ToolDefinition } from '../definition/definition.ts'
import { about, checkHost, own, policyOf, required } from '../definition/endpoint.ts'
import { type Operator } from '../operator.ts'
import { parseUrlTemplate, type UrlTemplate } from './url-template.ts'

/** The definition of a tool over HTTP. */
export interface RestfulDefinition extends ToolDefinition {
  readonly method: RestfulMethod
  readonly url: UrlTemplate
}

export type RestfulMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const satisfies readonly RestfulMethod[]

/** Reads the part of a registration that is about HTTP. @throws Error with the reason why this is no tool over HTTP */
export function parseRestful (common: CommonDefinition, endpoint: JsonObject, operator: Operator): RestfulDefinition {
  const text = required(endpoint, 'url', 'restful')
  const method = METHODS.find(each => each === (own(endpoint, 'method') ?? 'POST'))
  if (method === undefined) throw new Error(`method "${String(own(endpoint, 'method'))}" must be one of ${METHODS.join(', ')}`)
  const url = about('url', () => parseUrlTemplate(text))
  if (url.origin !== undefined) checkHost(new URL(url.origin).host, common, operator)
  return { ...common, type: 'restful', isRelative: url.origin === undefined, url, method, policy: policyOf(common, method === 'GET') }
}
