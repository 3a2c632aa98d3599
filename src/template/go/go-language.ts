import { FUNCTIONS } from '../functions/functions.ts'
import { type Language } from '../language.ts'
import { createGoLanguage } from './create-go-language.ts'

/** The template language Go: the syntax of Go's text/template, with the functions of the service. */
export const goLanguage: Language = createGoLanguage(FUNCTIONS)
