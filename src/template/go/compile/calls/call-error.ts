/** Thrown when a built-in function refuses its arguments. The code that runs the call adds the function's name and the place to the message. */
export class CallError extends Error {}
