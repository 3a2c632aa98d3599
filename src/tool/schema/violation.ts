import { type ErrorObject } from 'ajv'
import { type Violation } from '../../base/errors.ts'
import { type Json, stringifyJson } from '../../base/json.ts'
import { exactly } from '../rest/exact-numbers.ts'

/** Converts an error of ajv to a violation in plain words. The name of a missing or unexpected member becomes a part of the path. */
export function toViolation (error: ErrorObject, root: string): Violation {
  const path = root + error.instancePath.split('/').slice(1).map(segment => member(segment.replaceAll('~1', '/').replaceAll('~0', '~'))).join('')
  const params = error.params as Record<string, unknown>
  switch (error.keyword) {
    case 'required':
      return { path: path + member(String(params['missingProperty'])), message: 'is required' }
    case 'additionalProperties':
      return { path: path + member(String(params['additionalProperty'])), message: 'is not expected' }
    case 'unevaluatedProperties':
      return { path: path + member(String(params['unevaluatedProperty'])), message: 'is not expected' }
    case 'enum':
      return { path, message: `must be one of ${stringifyJson(exactly(params['allowedValues'] as Json)).slice(1, -1)}` }
    case 'false schema':
      return { path, message: 'is not allowed' }
    default:
      return { path, message: error.message ?? `fails "${error.keyword}"` }
  }
}

function member (name: string): string {
  if (/^\d+$/.test(name)) return `[${name}]`
  return /^[\p{L}_$][\p{L}\p{Nd}_$-]*$/u.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`
}
