/** The engine's version. `engines.version` of an extension is compared with it, and the API reports it. */
export const ENGINE_VERSION = '1.0.0'

/** The engine's name: what `engines.name` of an extension must be. */
export const ENGINE_NAME = 'ai-prompt-shell'
