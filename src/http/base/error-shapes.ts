import { type FastifyRequest } from 'fastify'
import { type ServiceError } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { isOpenAiPath, openAiBody } from './openai-error.ts'
import { isSkillPath, skillErrorBody } from './skill-envelope.ts'

/** How a part of the API tells of errors whose clients expect another form than that of the service. */
export interface ErrorShape {
  /** Its schema in the API's description. */
  readonly schema: string
  /** What the names of its examples end with. */
  readonly suffix: string
  readonly isFor: (path: string) => boolean
  readonly bodyOf: (error: ServiceError, requestId: string) => JsonObject
}

const SHAPES: readonly ErrorShape[] = [
  { schema: 'OpenAiError', suffix: 'OPENAI', isFor: isOpenAiPath, bodyOf: openAiBody },
  { schema: 'SkillError', suffix: 'SKILL', isFor: isSkillPath, bodyOf: skillErrorBody }
]

/** The shape of errors below a path, of a route or of a URL; `undefined` for the one of the service. */
export function errorShapeOf (path: string): ErrorShape | undefined {
  return SHAPES.find(({ isFor }) => isFor(path))
}

/** The same of a request, however its path is written: `/%76%31/models` leads to `/v1` too. */
export function errorShapeFor ({ routeOptions, url }: FastifyRequest): ErrorShape | undefined {
  return errorShapeOf(routeOptions.url ?? url)
}
