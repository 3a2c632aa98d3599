import * as errors from './errors.ts'

type Errors = typeof errors

/** The stable codes of all errors with which the service answers. */
export type ErrorCode = { [Name in keyof Errors]: Errors[Name] extends { readonly code: infer Code extends string } ? Code : never }[keyof Errors]

const STATUSES: ReadonlyMap<string, number> = new Map(Object.values(errors).flatMap(error => {
  return typeof error === 'function' && 'statusCode' in error ? [[error.code, error.statusCode] as const] : []
}))

/** The HTTP status with which errors of a code are answered. */
export function statusOf (code: ErrorCode): number {
  return STATUSES.get(code) as number
}
