/** Elements of a tool result, to check that a predicted row is exactly one of them. */

/**
 * Whether `row` is exactly one element of `result` (array element, object or table row) that contains `gold`, and the
 * smallest such: a list that holds the right row among others is not the row.
 */
export function isRow(result: string, row: string, gold: string): boolean {
  const smallest = elements(result).filter(
    (element) => element.text.includes(gold) && !element.inner.some((inner) => inner.includes(gold)),
  );
  return smallest.some((element) => element.forms.includes(normal(row)));
}

interface Element {
  /** Everything that names it: its key, when it has one, and its value. */
  text: string;
  /** The ways in which a predictor may write it, normalised. */
  forms: string[];
  /** Texts of the elements inside it. */
  inner: string[];
}

function elements(result: string): Element[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(result);
  } catch {
    return result
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => ({ text: line, forms: [normal(line)], inner: [] }));
  }
  const all: Element[] = [];
  visit(parsed, null, false, all);
  return all;
}

/** Collects the elements at and below a value; returns the texts of those. */
function visit(value: unknown, key: string | null, inArray: boolean, all: Element[]): string[] {
  const isArray = Array.isArray(value);
  const children = typeof value !== "object" || value === null ? [] : Object.entries(value);
  const inner = children.flatMap(([name, child]) => visit(child, isArray ? null : name, isArray, all));
  if (!inArray && (isArray || children.length === 0)) return inner;
  const json = JSON.stringify(value);
  const keyed = key === null ? json : `${JSON.stringify(key)}: ${json}`;
  const forms = [normal(json), normal(keyed)];
  if (typeof value === "string") forms.push(normal(value));
  all.push({ text: keyed, forms, inner });
  return [keyed, ...inner];
}

/** JSON as `JSON.stringify` writes it; other text with its spaces collapsed. */
function normal(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text.replace(/\s+/g, " ").trim();
  }
}
