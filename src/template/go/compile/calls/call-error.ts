/** The error that a function refuses its arguments. The calling code adds which call it was. */
export class CallError extends Error {}
