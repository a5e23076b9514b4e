import type { Random } from "./random.js";

/** Words of other scripts, and what stands between them. */
interface Script {
  words: readonly string[];
  space: string;
}

const SCRIPTS = {
  cyrillic: {
    words: [
      "как",
      "настроить",
      "сервер",
      "чтобы",
      "резервная",
      "копия",
      "создавалась",
      "каждую",
      "ночь",
      "и",
      "письмо",
      "приходило",
      "администратору",
      "если",
      "диск",
      "почти",
      "заполнен",
      "мы",
      "используем",
      "новую",
      "версию",
      "программы",
      "подскажите",
      "пожалуйста",
    ],
    space: " ",
  },
  chinese: {
    words: [
      "请问",
      "怎么",
      "配置",
      "服务器",
      "备份",
      "每天",
      "晚上",
      "自动",
      "运行",
      "我们",
      "使用",
      "最新",
      "版本",
      "数据库",
      "硬盘",
      "空间",
      "不足",
      "的时候",
      "发送",
      "邮件",
      "给",
      "管理员",
      "，",
      "。",
    ],
    space: "",
  },
  emoji: {
    words: ["🎉", "👍🏽", "😀", "🚀", "👩‍💻", "🔥", "🇫🇷", "🍕", "❤️", "😂", "great", "trip", "photos", "🏖️", "✈️", "🐶"],
    space: " ",
  },
} satisfies Record<string, Script>;

export type ScriptName = keyof typeof SCRIPTS;

/** A turn of exactly `length` UTF-16 units; no character is cut in two. */
export function turnIn(script: ScriptName, length: number, random: Random): string {
  const { words, space } = SCRIPTS[script];
  let text = "";
  for (;;) {
    const word = random.pick(words);
    const next = text === "" ? word : text + space + word;
    if (next.length > length) return text.padEnd(length, "!");
    text = next;
  }
}
