import { singleSource } from '../call/tool-source.ts'
import { type ToolType } from '../tool-type.ts'
import { createHttpAgent } from './http-agent.ts'
import { createRestfulConnector } from './restful-connector.ts'
import { parseRestful, type RestfulDefinition } from './restful-definition.ts'

/** The type of tools that are called over HTTP. */
export const restfulType: ToolType<RestfulDefinition> = {
  name: 'restful',
  parse: parseRestful,
  connect (resources) {
    const { operator, maxReply } = resources
    const agent = createHttpAgent(operator.egress, operator.tls, { maxResponseSize: maxReply })
    return {
      open: definition => singleSource(definition, createRestfulConnector(definition, agent, operator.baseUrls, operator.secrets), resources),
      close: () => agent.close()
    }
  }
}
