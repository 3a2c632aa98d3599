import * as errors from './errors.ts'

type Errors = typeof errors

export type ErrorCode = { [Name in keyof Errors]: Errors[Name] extends { readonly code: infer Code extends string } ? Code : never }[keyof Errors]

const STATUSES: ReadonlyMap<string, number> = new Map(Object.values(errors).flatMap(error => {
  return typeof error === 'function' && 'statusCode' in error ? [[error.code, error.statusCode] as const] : []
}))

export function statusOf (code: ErrorCode): number {
  return STATUSES.get(code) as number
}
