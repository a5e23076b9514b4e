/** What the invented chats are about. */
export interface Subject {
  name: string;
  things: readonly string[];
  deeds: readonly string[];
}

export const SUBJECTS: readonly Subject[] = [
  {
    name: "etcd",
    things: [
      "the etcd cluster",
      "our staging node",
      "a leader election",
      "the client port",
      "the snapshot folder",
      "a quorum loss",
      "the raft log",
      "TLS between peers",
    ],
    deeds: ["configure", "restart", "upgrade", "secure", "compact", "migrate", "monitor", "restore"],
  },
  {
    name: "travel",
    things: [
      "the night train to Lisbon",
      "a hotel near the harbour",
      "our rental car",
      "the museum pass",
      "a table by the window",
      "the ferry to the island",
      "two checked bags",
      "the return flight",
    ],
    deeds: ["book", "cancel", "compare", "move", "pay for", "postpone", "arrange", "review"],
  },
  {
    name: "cooking",
    things: [
      "a vegetable stock",
      "the sourdough starter",
      "roasted aubergines",
      "the lemon sauce",
      "a gluten free crust",
      "the pressure cooker",
      "fresh basil leaves",
      "a slow braised stew",
    ],
    deeds: ["season", "prepare", "freeze", "reheat", "thicken", "serve", "double", "replace"],
  },
  {
    name: "billing",
    things: [
      "the invoice of March",
      "our yearly plan",
      "a failed card payment",
      "the refund request",
      "the tax number",
      "a discount code",
      "the purchase order",
      "three unused seats",
    ],
    deeds: ["update", "export", "dispute", "split", "approve", "renew", "download", "close"],
  },
  {
    name: "python",
    things: [
      "the test runner",
      "a memory leak",
      "our type stubs",
      "the async worker",
      "a circular import",
      "the package lock",
      "a slow database query",
      "the logging setup",
    ],
    deeds: ["profile", "refactor", "mock", "debug", "document", "release", "benchmark", "rename"],
  },
  {
    name: "garden",
    things: [
      "the tomato seedlings",
      "a raised bed",
      "our compost heap",
      "the apple tree",
      "a drip hose",
      "the greenhouse door",
      "some early lettuce",
      "the strawberry patch",
    ],
    deeds: ["plant", "prune", "water", "cover", "move", "fertilise", "harvest", "protect"],
  },
  {
    name: "fitness",
    things: [
      "a half marathon plan",
      "the rowing machine",
      "my left knee",
      "the warm up routine",
      "a rest day",
      "heart rate zones",
      "the kettlebell session",
      "a protein breakfast",
    ],
    deeds: ["schedule", "shorten", "track", "improve", "skip", "adapt", "measure", "balance"],
  },
  {
    name: "law",
    things: [
      "the rental contract",
      "a notice period",
      "our data policy",
      "the warranty claim",
      "a missing signature",
      "the court deadline",
      "a written reminder",
      "the deposit",
    ],
    deeds: ["draft", "sign", "terminate", "appeal", "translate", "archive", "negotiate", "check"],
  },
];

/** Ways to put a thing and a deed into a sentence. */
export const QUESTIONS: ReadonlyArray<(deed: string, thing: string, other: string) => string> = [
  (deed, thing) => `How do I ${deed} ${thing}?`,
  (deed, thing, other) => `Can you help me ${deed} ${thing} before ${other}?`,
  (deed, thing) => `When should we ${deed} ${thing}?`,
  (deed, thing, other) => `We need to ${deed} ${thing} because of ${other}.`,
  (deed, thing) => `Please ${deed} ${thing} on Tuesday.`,
  (deed, thing, other) => `My colleague wants to ${deed} ${thing} and ${other}.`,
  (deed, thing) => `Who can ${deed} ${thing} for us?`,
  (deed, thing, other) => `Should I ${deed} ${thing} or ${other}?`,
];

export const ANSWERS: ReadonlyArray<(deed: string, thing: string, other: string) => string> = [
  (deed, thing, other) => `You can ${deed} ${thing} once ${other} is ready.`,
  (deed, thing) => `To ${deed} ${thing}, open the settings and choose the right entry.`,
  (deed, thing, other) => `Most teams ${deed} ${thing} early and leave ${other} alone.`,
  (deed, thing) => `Start small: ${deed} ${thing} on a copy, then check the outcome.`,
  (deed, thing, other) => `It helps to ${deed} ${thing} together with ${other}.`,
  (deed, thing) => `A common way to ${deed} ${thing} takes about twenty minutes.`,
  (deed, thing, other) => `Do not ${deed} ${thing} while ${other} changes.`,
  (deed, thing) => `There are two ways to ${deed} ${thing}, both safe.`,
];
