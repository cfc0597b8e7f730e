/** What tests read of a document. The types of the whole DOM would also be those of the service. */
declare module 'jsdom' {
  export class JSDOM {
    constructor(markup: string)
    readonly window: { readonly document: PageDocument }
  }
  export interface PageDocument {
    readonly title: string
    readonly documentElement: PageElement
    querySelector(selector: string): PageElement | null
    querySelectorAll(selector: string): Iterable<PageElement> & { readonly length: number }
  }
  export interface PageElement {
    readonly id: string
    readonly tagName: string
    readonly textContent: string
    readonly outerHTML: string
    click(): void
    getAttribute(name: string): string | null
    querySelector(selector: string): PageElement | null
    querySelectorAll(selector: string): Iterable<PageElement> & { readonly length: number }
  }
}
