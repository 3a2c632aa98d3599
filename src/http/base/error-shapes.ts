import { type FastifyRequest } from 'fastify'
import { type ServiceError } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { isOpenAiPath, openAiBody } from './openai-error.ts'
import { isSkillPath, skillErrorBody } from './skill-envelope.ts'

/** The form of error replies in a part of the API whose clients expect another form than the service's own. */
export interface ErrorShape {
  /** The name of the error's schema in the API's description. */
  readonly schema: string
  /** What is appended to the names of examples of errors in this form, in the API's description. */
  readonly suffix: string
  readonly isFor: (path: string) => boolean
  readonly bodyOf: (error: ServiceError, requestId: string) => JsonObject
}

const SHAPES: readonly ErrorShape[] = [
  { schema: 'OpenAiError', suffix: 'OPENAI', isFor: isOpenAiPath, bodyOf: openAiBody },
  { schema: 'SkillError', suffix: 'SKILL', isFor: isSkillPath, bodyOf: skillErrorBody }
]

/** The form of errors at a path of a route or of a URL; `undefined` for the service's own form. */
export function errorShapeOf (path: string): ErrorShape | undefined {
  return SHAPES.find(({ isFor }) => isFor(path))
}

/** The form of errors for a request, also when its path is percent-encoded: `/%76%31/models` belongs to `/v1`. */
export function errorShapeFor ({ routeOptions, url }: FastifyRequest): ErrorShape | undefined {
  return errorShapeOf(routeOptions.url ?? url)
}
