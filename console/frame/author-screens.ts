// The screens for authors, apart from the pages of the prompts. They are one part of the console, which is loaded as a whole.
export { EnvironPage } from '../library/environ-page.tsx'
export { EnvironsPage } from '../library/environs-page.tsx'
export { ExtensionPage } from '../library/extension-page.tsx'
export { ExtensionsPage } from '../library/extensions-page.tsx'
export { ProblemsPage } from '../library/problems-page.tsx'
export { ToolPage } from '../library/tool-page.tsx'
export { ToolsPage } from '../library/tools-page.tsx'
export { NewPrompt } from '../prompts/new-prompt.tsx'
