/** The report's style: light and dark, on paper, on a phone. Charts take their colours from the same variables. */

/** Neighbours in a stack differ in lightness, so that they stay apart without colour. */
const LIGHT = `--bg:#f5f6f7;--card:#fff;--text:#171b20;--dim:#5a636e;--line:#e1e5ea;--accent:#26588f;
--bad:#a8281f;--warn:#e2a73d;--good:#3b7577;--none:#cfd5dc;--calm:#a9c1dc;--on-bad:#fff;--on-warn:#241a04;--on-good:#fff;
--age1:#ecc2b5;--age2:#d98e79;--age3:#bd5242;--age4:#86170f`;
const DARK = `--bg:#0f1216;--card:#171b21;--text:#e8ecf1;--dim:#9aa5b1;--line:#2a313a;--accent:#86b6f0;
--bad:#cf6157;--warn:#e9bd63;--good:#4f9a9b;--none:#4a535e;--calm:#4d6f96;--on-bad:#1d0503;--on-warn:#241a04;--on-good:#04191a;
--age1:#6d4139;--age2:#99564a;--age3:#c86a5c;--age4:#f0988b`;

export const STYLE = `
:root{color-scheme:light dark;${LIGHT}}
@media screen and (prefers-color-scheme:dark){:root{${DARK}}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;font-variant-numeric:tabular-nums}
header,main,footer{max-width:60rem;margin:0 auto;padding:0 clamp(.8rem,3vw,1.5rem)}
header{padding-top:clamp(1.5rem,4vw,3rem)}
h1{font-size:clamp(1.7rem,4.5vw,2.4rem);line-height:1.15;letter-spacing:-.02em;margin:0 0 .3rem;overflow-wrap:anywhere}
h2{font-size:1.45rem;line-height:1.2;letter-spacing:-.01em;margin:0 0 .5rem}
h3{font-size:1.05rem;margin:2.2rem 0 .6rem;padding-top:1.2rem;border-top:1px solid var(--line)}
p{margin:.3rem 0}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9em;overflow-wrap:anywhere}
a{color:inherit}
.dim,.note,footer{color:var(--dim)}
.note{font-size:.85rem;margin:.5rem 0 0;max-width:46rem}
.lead{font-size:1.1rem;margin:0 0 1.4rem;max-width:46rem}
.empty{color:var(--dim);max-width:46rem}
nav{font-size:.9rem;margin-top:.8rem;display:flex;flex-wrap:wrap;gap:.2rem 1.1rem}
nav a{color:var(--dim);text-underline-offset:.2em}
section{background:var(--card);border:1px solid var(--line);border-radius:.7rem;padding:clamp(1rem,3vw,1.8rem);margin:1.2rem 0}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(11rem,100%),1fr));gap:1px;background:var(--line);padding:0;overflow:hidden;border:1px solid var(--line);border-radius:.7rem;margin:1.2rem 0}
.figures div{background:var(--card);padding:1.1rem 1.3rem}
.figures dt{color:var(--dim);font-size:.9rem}
.figures dd{margin:0}
.figures .value{font-size:2.5rem;font-weight:650;letter-spacing:-.03em;line-height:1.2}
.figures .bad{color:var(--bad)}
.figures .beside{color:var(--dim);font-size:.85rem;line-height:1.35}
figure{margin:0 0 1.2rem}
figcaption,caption{font-weight:600;font-size:.95rem;text-align:left;padding:0 0 .5rem}
svg{display:block;width:100%;height:auto;overflow:visible;font-size:12px;font-family:inherit;color:var(--dim)}
svg.narrow{display:none}
.two{display:grid;gap:1.2rem 2.5rem;grid-template-columns:repeat(auto-fit,minmax(min(22rem,100%),1fr));align-items:start}
.two>*{min-width:0}
.scroll{overflow-x:auto;margin:0 0 1rem}
table{width:100%;border-collapse:collapse;font-size:.92rem}
th,td{text-align:left;font-weight:400;padding:.36rem 1.1rem .36rem 0;border-top:1px solid var(--line);vertical-align:top;overflow-wrap:break-word}
th:last-child,td:last-child{padding-right:0}
thead th{color:var(--dim);font-size:.85rem;border-top:0;vertical-align:bottom;padding-bottom:.3rem;overflow-wrap:normal}
.num{text-align:right}
td.num{white-space:nowrap}
ul{margin:.4rem 0;padding-left:1.2rem}
footer{font-size:.85rem;padding-bottom:3rem}
@media (max-width:42rem){svg.wide{display:none}svg.narrow{display:block}.spare{display:none}th,td{padding-right:.8rem}}
@page{margin:14mm}
@media print{
:root{--bg:#fff;--card:#fff;color-scheme:light}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
body{font-size:10.5pt}
header,main,footer{max-width:none;padding:0}
section{border:0;border-radius:0;padding:0;margin:0 0 1.4rem}
section+section{padding-top:1rem}
.figures{border:1px solid var(--line);padding:0!important;display:grid;grid-template-columns:repeat(4,1fr)}
.figures .value{font-size:1.7rem}
.two{grid-template-columns:1fr 1fr;gap:1rem 1.6rem}
table{font-size:9pt}th,td{padding:.22rem .7rem .22rem 0}h3{margin-top:1rem;padding-top:.8rem}
h2,h3,caption,figcaption,.lead{break-after:avoid}
figure,tr,.figures,.two>*{break-inside:avoid}
svg.narrow{display:none}svg.wide{display:block}.spare{display:table-cell}
nav{display:none}
}
`;
