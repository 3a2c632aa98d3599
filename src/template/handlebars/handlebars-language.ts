import { type Language, type TemplateSource } from '../language.ts'
import { prescan } from '../syntax/prescan.ts'
import { type Program, type Statement } from './syntax/ast.ts'
import { compileExpression } from './compile/calls.ts'
import { Collection, type Environment } from './compile/environment.ts'
import { HandlebarsTemplate } from './handlebars-template.ts'
import { InlineContexts } from './compile/inline-contexts.ts'
import { parse } from './syntax/parse.ts'
import { compileSequence, inlineName } from './compile/sequences.ts'
import { TRACED, UNTRACED } from './compile/tracing.ts'
import { findUnreachable } from './needs/unreachable.ts'
import { ROOT } from './compile/static-path.ts'

const NONE: ReadonlySet<string> = new Set()

/**
 * Handlebars, as the handlebars package defines it, with the functions of this service in place of custom helpers.
 * The package parses; the tree becomes closures here, so that no template ever becomes JavaScript source.
 *
 * It differs on purpose in this (the tests keep the list, with an example each):
 * - nothing is escaped, objects and lists print as JSON, numbers that stand side by side are not added;
 * - own members only: lists have no `length` (there is `len`), texts have no members at all;
 * - a member of null, 0 or false is absent; null stays null as a context;
 * - an absent value that is printed or passed on is an error (a missing value), and not the empty text;
 * - a call of a function or tool as a block is a block over the result;
 * - a condition `@partial-block` is true where there is such a block;
 * - refused when the template is loaded: `{{log}}`, decorators other than `{{#*inline}}`, partials chosen by a value,
 *   arguments and block parameters that nothing reads;
 * - when a partial runs within itself, each of its runs has its own inline partials;
 * - `{{{{raw}}}}` gives its body as it is written;
 * - `helperMissing` and `blockHelperMissing` are names like any other.
 */
export const handlebarsLanguage: Language = {
  syntax: 'handlebars',
  compile: compileHandlebars
}

function compileHandlebars ({ text, declared, explain = false }: TemplateSource): HandlebarsTemplate {
  const tracing = explain ? TRACED : UNTRACED
  prescan(text)
  const program = parse(text)
  // Hardly any template has inline partials, and searching the tree for them takes a hundredth of a compile.
  const inlines = new InlineContexts(text.includes('#*') ? inlineNames(program) : [])
  const collection = new Collection(text, declared ?? NONE, inlines, { expression: compileExpression, sequence: compileSequence })
  const environment: Environment = { collection, context: ROOT, up: undefined, params: undefined, inlines: NONE, depth: 0, tracing }
  const { render } = compileSequence(program, environment, undefined, () => undefined)
  const [references, paths] = [collection.references(), collection.paths()]
  return new HandlebarsTemplate({ references, paths, hasMorePaths: collection.hasMorePaths, unreachable: findUnreachable(program) }, tracing.entry(render))
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
