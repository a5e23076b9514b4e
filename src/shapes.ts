/**
 * Of what results are made of, one object each. When a full collection finds no object of a hidden class, V8 forgets the hidden
 * class, and with it all code that was compiled for it: after each one, nearly all of this package would be interpreted again.
 */
const specimens: object[] = [];

/** Keeps an object whose fields are of the kinds that all of its class have: small integer, number, or anything else. */
export function keepShape(specimen: object): void {
  specimens.push(specimen);
}
