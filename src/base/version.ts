/** The version of the service. The API reports it, and it must be in the range that an extension's `engines.version` allows. */
export const ENGINE_VERSION = '1.0.0'

/** The name of the service, which `engines.name` of an extension must be. */
export const ENGINE_NAME = 'ai-prompt-shell'
