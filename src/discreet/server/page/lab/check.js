// Three questions: whoever reads odds quickly is often surer of them than right.

import { h, put } from "/static/shell.js";

const questions = (drawn) => [
  {
    asked: `At this setting, somebody points at ${drawn.of_strangers} of 100 people who stayed out. How many of 100 who joined can they point at?`,
    options: [
      ["none", "None: the noise hides everybody completely.", false],
      ["bound", `At most ${drawn.of_people}.`, true],
      ["all", "All 100, if the attacker is clever enough.", drawn.of_people === 100],
    ],
    why: `The promise is a limit, not a wall: at most ${drawn.of_people} of 100, instead of ${drawn.of_strangers} of 100 if they had stayed out. `
      + "It holds for every attacker.",
  },
  {
    asked: "You move the slider towards “more privacy”. What happens to a published count?",
    options: [
      ["closer", "It comes closer to the truth.", false],
      ["further", "It carries more noise: it may be further from the truth.", true],
      ["same", "Nothing: only the odds of an attacker change.", false],
    ],
    why: "Privacy is paid for in accuracy. That is why the slider has two good ends and no right place.",
  },
  {
    asked: "A private study finds that most people who drink coffee sleep badly. You drink coffee and stayed out of the study. What has it told others about you?",
    options: [
      ["nothing", "Nothing: I was not in it.", false],
      ["likely", "That I may well sleep badly. It would have told them so either way.", true],
      ["broken", "More than it promised: my privacy was broken.", false],
    ],
    why: "Facts about people at large can be learnt, and are meant to be. What is protected is what could only be known because you took part.",
  },
];

/** A short check of what was understood: `element`, and `update` for other figures. */
export function check() {
  const first = h("div", {});
  const rest = questions({}).slice(1).map((asked, i) => question(asked, i + 1));
  let known = null;
  return {
    element: h("details", { class: "quiz" }, h("summary", {}, "Check yourself: three questions"), h("div", { class: "stack" }, first, rest)),
    update(drawn) {
      const facts = `${drawn.of_strangers} ${drawn.of_people}`;
      if (facts !== known) put(first, question(questions(drawn)[0], 0));
      known = facts;
    },
  };
}

function question({ asked, options, why }, place) {
  const told = h("div", { role: "status", "aria-live": "polite" });
  const answer = (right) => put(told, h("div", { class: right ? "notice good" : "notice noise" },
    h("p", {}, h("strong", {}, right ? "Yes. " : "Not quite. "), why)));
  return h("fieldset", { class: "stack-small" },
    h("legend", {}, `${place + 1}. ${asked}`),
    h("div", { class: "options" }, options.map(([value, text, right]) => h("label", {},
      h("input", { type: "radio", name: `check-${place}`, value, onchange: () => answer(right) }), h("span", {}, text)))),
    told);
}
