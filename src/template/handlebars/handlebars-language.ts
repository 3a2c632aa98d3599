import { type Language, type TemplateSource } from '../language.ts'
import { prescan } from '../prescan.ts'
import { type Program, type Statement } from './ast.ts'
import { Collection, type Environment } from './environment.ts'
import { HandlebarsTemplate } from './handlebars-template.ts'
import { parse } from './parse.ts'
import { compileSequence, inlineName } from './sequences.ts'

const NONE: ReadonlySet<string> = new Set()

/**
 * Handlebars, as the handlebars package defines it, with the functions of this service in place of custom helpers.
 * The package parses; the tree becomes closures here, so that no template ever becomes JavaScript source.
 */
export const handlebarsLanguage: Language = {
  syntax: 'handlebars',
  compile: compileHandlebars
}

function compileHandlebars ({ text, declared }: TemplateSource): HandlebarsTemplate {
  prescan(text)
  const program = parse(text)
  const collection = new Collection(text, declared ?? NONE, new Set(inlineNames(program)))
  const environment: Environment = { collection, contextPath: '', up: undefined, params: undefined, inlines: NONE, depth: 0 }
  const { render } = compileSequence(program, environment, undefined, () => undefined)
  return new HandlebarsTemplate(collection.references, collection.paths, render)
}

function inlineNames (program: Program | undefined): string[] {
  return program === undefined ? [] : program.body.flatMap(inlineNamesIn)
}

function inlineNamesIn (statement: Statement): string[] {
  switch (statement.type) {
    case 'DecoratorBlock': return [inlineName(statement), ...inlineNames(statement.program)]
    case 'BlockStatement': return [...inlineNames(statement.program), ...inlineNames(statement.inverse)]
    case 'PartialBlockStatement': return inlineNames(statement.program)
    default: return []
  }
}
