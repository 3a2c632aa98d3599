import assert from 'node:assert/strict'
import { Ajv, type ValidateFunction } from 'ajv'
import { type LightMyRequestResponse } from 'fastify'
import { API, type Operation } from './described-api.ts'

const ajv = new Ajv({ strict: false, validateFormats: false, code: { optimize: false }, schemas: { 'openapi.json': API } })

/**
 * What is wrong with a reply; `undefined` when it is as openapi.json says.
 * @param path as in openapi.json: `/api/prompts/{id}`
 */
export function undeclared (method: string, path: string, reply: LightMyRequestResponse): string | undefined {
  const { responses } = API.paths[path]?.[method.toLowerCase()] as Operation
  const status = [String(reply.statusCode), `${Math.trunc(reply.statusCode / 100)}XX`].find(each => responses[each] !== undefined)
  if (status === undefined) return `status ${reply.statusCode} is not declared`
  const { content } = responses[status] as Operation['responses'][string]
  const type = String(reply.headers['content-type'] ?? '').split(';')[0] ?? ''
  if (content === undefined) return reply.body === '' ? undefined : 'a body that is not declared'
  if (content[type] === undefined) return `media type "${type}" is not declared`
  if (type !== 'application/json') return undefined
  const validate = validatorOf(['paths', path, method.toLowerCase(), 'responses', status, 'content', type, 'schema'])
  return validate(reply.json()) === true ? undefined : ajv.errorsText(validate.errors)
}

function validatorOf (pointer: readonly string[]): ValidateFunction {
  const $ref = `openapi.json#/${pointer.map(segment => encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`
  return ajv.getSchema($ref) ?? assert.fail($ref)
}
