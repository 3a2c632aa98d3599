import { type FastifyRequest } from 'fastify'
import { type ServiceError } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { isOpenAiPath, openAiBody } from './openai-error.ts'
import { isSkillPath, skillErrorBody } from './skill-envelope.ts'

/** The form of error replies in a part of the API whose clients expect another form than the service's own. */
export interface ErrorShape {
  /** The name of the error's schema in the API's description. */
  readonly schema: string
  /** The ending that the API's description adds to the name of each example error in this form. */
  readonly suffix: string
  readonly isFor: (path: string) => boolean
  readonly bodyOf: (error: ServiceError, requestId: string) => JsonObject
}

const SHAPES: readonly ErrorShape[] = [
  { schema: 'OpenAiError', suffix: 'OPENAI', isFor: isOpenAiPath, bodyOf: openAiBody },
  { schema: 'SkillError', suffix: 'SKILL', isFor: isSkillPath, bodyOf: skillErrorBody }
]

/** Gives the form of error replies for a path (the pattern of a route, or a URL); `undefined` for the service's own form. */
export function errorShapeOf (path: string): ErrorShape | undefined {
  return SHAPES.find(({ isFor }) => isFor(path))
}

/**
 * Gives the form in which the client of a request expects errors. It is found by the request's path, even a percent-encoded one:
 * `/%76%31/models` belongs to `/v1`. `undefined` for the service's own form.
 */
export function errorShapeFor ({ routeOptions, url }: FastifyRequest): ErrorShape | undefined {
  return errorShapeOf(routeOptions.url ?? url)
}
