import { readdirSync, readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { createEngine, type AppendMessage, type Intent, type Reference, type ReferenceType } from "../src/index.js";

/** As `crates/core/tests/languages.rs` reads them, where the format is described. */
interface Case {
  gloss: string;
  log: AppendMessage[];
  turn: string;
  intent: Intent;
  references?: { text: string; type: ReferenceType; target?: number | null; item?: string }[];
  trap?: string;
  open?: string;
}

/** Letters from which a turn alone tells its language. */
const TELLING = 24;

const folder = new URL("../fixtures/golden/languages/", import.meta.url);
const languages = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .map((name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")) as { locale: string; cases: Case[] });

const auto = createEngine({ clock: () => 1_000 });
afterAll(() => auto.close());

describe.each(languages)("$locale", ({ locale, cases }) => {
  const named = createEngine({ clock: () => 1_000, locale });
  afterAll(() => named.close());

  test.each(cases.filter((of) => of.open === undefined))("$turn", (of) => {
    const tells = (of.turn.match(/\p{L}/gu) ?? []).length >= TELLING;
    const session = (tells ? auto : named).session(`${locale} ${of.turn} ${of.gloss}`);
    const places = new Map<string, number>();
    for (const [at, message] of of.log.entries()) {
      const { turnId, scratchId } = session.append(message);
      places.set(String(turnId ?? scratchId), at + 1);
    }
    const turn = session.assemble(of.turn);
    expect(turn.locale).toBe(locale);
    expect(turn.intent).toBe(of.intent);
    if (of.references?.length === 0) expect(turn.references.filter(({ target }) => target !== null)).toEqual([]);
    for (const wanted of of.references ?? []) {
      const found = turn.references.find((reference) => matches(reference, wanted, of.turn, places));
      expect(found, `${JSON.stringify(wanted)} in ${JSON.stringify(turn.references)}`).toBeDefined();
    }
  });
});

test.each([
  ["Thai", "ช่วยอธิบายตัวเลือกที่สองให้ละเอียดกว่านี้ได้ไหม"],
  ["Finnish", "Voisitko kertoa minulle lisää tuosta toisesta vaihtoehdosta, kiitos?"],
  ["Vietnamese", "Bạn có thể giải thích rõ hơn về lựa chọn thứ hai không?"],
])("%s has no pack, and the result says so", (_, text) => {
  const session = auto.session(text);
  session.append({ role: "user", content: "1" });
  const turn = session.assemble(text);
  expect(turn.locale).toBe("und");
  expect(turn.references).toEqual([]);
  expect(turn.explain()).toContain("locale und");
});

function matches(
  found: Reference,
  wanted: NonNullable<Case["references"]>[number],
  turn: string,
  places: Map<string, number>,
): boolean {
  const { target, span, type, itemTexts, rows } = found;
  // Every place where the turn has the text.
  const starts = turn.split(wanted.text).slice(0, -1);
  const overlaps = starts.some((_, at) => {
    const start = starts.slice(0, at + 1).join(wanted.text).length;
    return span[0] < start + wanted.text.length && start < span[1];
  });
  const items = [...itemTexts, ...rows.map(({ text }) => text)];
  return (
    overlaps &&
    type === wanted.type &&
    (target === null ? null : places.get(String(target.id))) === (wanted.target ?? null) &&
    (wanted.item === undefined || items.some((item) => item.includes(wanted.item!)))
  );
}

test.each([
  ["es", "¿Qué es el impuesto sobre el valor añadido?", "¿Qué animal duerme de pie?"],
  ["de", "Was ist die Mehrwertsteuer?", "Welches Tier schläft im Stehen?"],
  ["fi", "Mikä on arvonlisävero?", "Mikä eläin nukkuu seisaaltaan?"],
  ["hi", "जीएसटी क्या है?", "कौन सा जानवर खड़े होकर सोता है?"],
])("the English table says nothing of %s", (locale, first, second) => {
  const engine = createEngine({ locale });
  const session = engine.session("similarity");
  session.append({ role: "user", content: first });
  expect(session.classify(second).similaritySource).toBe("lexical");
  return engine.close();
});
