/** The API reports it, and an extension's `engines.version` must allow it. */
export const ENGINE_VERSION = '1.0.0'

/** `engines.name` of an extension must be this. */
export const ENGINE_NAME = 'ai-prompt-shell'
