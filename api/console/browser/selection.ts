/**
 * Rows that are selected by the boxes in `[data-rows]`, and the bar `[data-selection]` that appears meanwhile.
 * What is selected can be replayed when all of it is of one agent that has a version: `data-agent` says whose
 * a box is, and whose versions a fieldset of the form offers. `data-further-versions` of the bar says that
 * there are more of them.
 */
export function bindSelection(root: Document) {
  const boxes = [...root.querySelectorAll<HTMLInputElement>('[data-rows] input[name=trace_ids]')]
  const versions = [...root.querySelectorAll<HTMLFieldSetElement>('#replay fieldset[data-agent]')]
  const page = root.querySelector<HTMLInputElement>('input[data-pick=page]')
  const bar = root.querySelector<HTMLElement>('[data-selection]')
  const said = bar?.querySelector('output')
  const replay = bar?.querySelector<HTMLButtonElement>('[data-open=replay]')
  if (!page || !bar || !said || !replay) return

  const show = () => {
    const picked = boxes.filter((box) => box.checked)
    const agents = new Set(picked.map((box) => box.dataset['agent']))
    for (const choice of versions) {
      const fits = agents.size === 1 && agents.has(choice.dataset['agent'])
      choice.hidden = choice.disabled = !fits
    }
    const why = whyNot(agents.size)
    bar.hidden = picked.length === 0
    said.value = `${picked.length} selected${why && `, ${why}`}`
    replay.disabled = why !== ''
    page.checked = picked.length === boxes.length
    page.indeterminate = picked.length > 0 && !page.checked
  }
  const whyNot = (agents: number) => {
    if (agents > 1) return `of ${agents} agents; a replay is of one`
    if (versions.some((choice) => !choice.disabled)) return ''
    return 'furtherVersions' in bar.dataset
      ? 'choose the agent in the filter to replay'
      : 'no version of the agent to replay as'
  }
  const pick = (isPicked: boolean) => {
    for (const box of boxes) box.checked = isPicked
    show()
  }

  root.addEventListener('change', ({ target }) => {
    if (target === page) pick(page.checked)
    else if (boxes.includes(target as HTMLInputElement)) show()
  })
  bar.addEventListener('click', ({ target }) => {
    const { pick: which } = (target as HTMLElement).dataset
    if (which !== undefined) pick(which === 'all')
  })
}
