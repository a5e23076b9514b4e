//! stub
#![allow(missing_docs)]
use serde::{Deserialize, Serialize};
use crate::intent::Novelty;
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NgramGuard;
impl NgramGuard { pub fn add(&mut self,_:&str){} }
#[derive(Debug)]
pub struct Fact { pub id:String, pub source:String, pub text:String, pub tokens:u32 }
#[derive(Debug)]
pub struct KnowledgeBase { facts:Vec<Fact> }
pub struct Query<'a>{pub vector:Option<&'a [f32]>,pub terms:&'a [String]}
pub struct Policy<'a>{pub novelty:Novelty,pub partial_factor:f32,pub min_relevance:f32,pub coverage:Option<&'a [f32]>,pub residual:&'a [&'a [f32]],pub literal:bool,pub calibrate:&'a dyn Fn(f32)->f32,pub ngrams:&'a NgramGuard,pub limit:usize}
#[derive(Debug)]
pub struct ScoredFact{pub index:usize,pub score:f32}
impl KnowledgeBase { pub fn len(&self)->usize{self.facts.len()} pub fn get(&self,i:usize)->Option<&Fact>{self.facts.get(i)} pub fn select(&mut self,_:&Query<'_>,_:&Policy<'_>,_:i64)->Vec<ScoredFact>{vec![]} }
#[derive(Debug, Deserialize)]
pub struct NewFact { pub id: String, pub text: String }
use crate::error::Result;
impl KnowledgeBase { pub fn new(_:Option<usize>,_:usize)->Self{Self{facts:vec![]}} pub fn add(&mut self,f:Vec<NewFact>,_:Option<&[f32]>,_:Option<&crate::embedding::EmbeddingSpec>,_:u32,_c:&dyn crate::tokens::TokenCounter,_:i64)->Result<usize>{Ok(f.len())} pub fn delete(&mut self,_:&str)->bool{false} pub fn search(&mut self,_:&str,_:Option<&[f32]>,_:Option<&crate::embedding::EmbeddingSpec>,_:&crate::config::Options,_:usize,_:i64)->Result<String>{Ok("[]".into())} pub fn state_hash(&self)->String{String::new()} }
