import { FUNCTIONS } from '../functions/functions.ts'
import { type Language } from '../language.ts'
import { createGoLanguage } from './create-go-language.ts'

/** Go's text/template syntax, with the functions of the service. */
export const goLanguage: Language = createGoLanguage(FUNCTIONS)
