import { hashToken } from '../../src/access/token-table.ts'
import { type RequestHeaders } from './service.ts'

/** An entry of API_TOKENS for the token `{name}-token`. @param rest roles, then patterns and limits: `render:prompts=a.*` */
export function tokenEntry (name: string, rest: string): string {
  const [roles, ...extras] = rest.split(':')
  return [name, roles, hashToken(`${name}-token`), ...extras].join(':')
}

/** Headers of a request by the holder of that token. */
export function bearer (name: string): RequestHeaders {
  return { authorization: `Bearer ${name}-token` }
}
