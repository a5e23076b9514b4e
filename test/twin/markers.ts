/** `packs/spec.json`: the marker and reference lists of the `spec` profile. */
export interface MarkerLists {
  clarify: readonly string[];
  continue: readonly string[];
  tool: readonly string[];
  references: Readonly<Record<"entity" | "turn" | "ordinal" | "action", readonly string[]>>;
}

export function everyPhrase(lists: MarkerLists): string[] {
  return [...lists.clarify, ...lists.continue, ...lists.tool, ...Object.values(lists.references).flat()];
}
